"""How results, progress and tables are printed."""
