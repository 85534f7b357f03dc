"""The archive format, export, restore, imports from other products, transfer between vaults, backup."""
