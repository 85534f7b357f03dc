"""One file per family of formats; each turns a Source into pieces as it reads. Only child.py runs them."""
