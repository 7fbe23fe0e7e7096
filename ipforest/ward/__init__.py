"""A local page that asks for one patient's features after another, of several patients: the extra ``web``.

Nothing leaves the machine: the page is served to this machine alone, at an address that only the terminal tells, and
patients' names are in memory until the program ends.
"""
