"""Trees as flat arrays: their structure, what they predict, how examples are routed, readers and writers."""
