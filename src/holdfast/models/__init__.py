"""One folder or file per vendor, one per task; each keeps a promise of ports.py."""
