-- Who wrote anything at all is asked with questions that may be about an agent.
CREATE INDEX message_agent ON message (profile, agent) WHERE agent IS NOT NULL;
CREATE INDEX memory_agent ON memory (profile, agent) WHERE agent IS NOT NULL;
