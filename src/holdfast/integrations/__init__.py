"""Adapters that implement other libraries' interfaces over a profile. Each file needs the library it is named after."""
