"""Trains the models that the package ships."""
