"""Writes the report: pages, charts and tables from the result files that bench/run left in report/data/."""
