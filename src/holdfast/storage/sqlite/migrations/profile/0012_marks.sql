-- Digestion asks which memories were marked wrong.
CREATE INDEX memory_marks ON memory (marks);
