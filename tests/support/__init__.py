"""What tests share: servers, databases, models, clients and files of theirs."""
