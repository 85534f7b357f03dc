"""The nouns of Holdfast: values, errors, identifiers, filters and ports. Pure; imports nothing else of the package."""
