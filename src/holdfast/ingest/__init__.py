"""Messages in, memories out: check and store messages, remember, digest, reconcile, kinds."""
