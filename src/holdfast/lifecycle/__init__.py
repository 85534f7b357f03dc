"""What happens to memories after they are written: forgetting, retention, summaries, curation, migration."""
