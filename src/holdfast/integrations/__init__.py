"""Holdfast in the shapes that other libraries ask for. Each file needs the library it is named after."""
