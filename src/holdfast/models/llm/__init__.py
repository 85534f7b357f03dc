"""Language models of providers, when the settings name one: the HTTP client, retries, and the tasks they do."""
