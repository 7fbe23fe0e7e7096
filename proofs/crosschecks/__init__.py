"""Every method against every other, and against brute force."""
