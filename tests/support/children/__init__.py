"""Programs that tests run as processes of their own, most of them to kill them."""
