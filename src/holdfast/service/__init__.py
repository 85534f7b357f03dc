"""The running service: Holdfast itself, its profiles, background work, access, settings and wiring."""
