-- Digestion asks which memories were marked wrong.
CREATE INDEX memory_marks ON memory (profile, marks) WHERE marks < 0;
