"""The report of a run: one HTML file that needs nothing else, and prints well."""

from producer.view.report.page import report_html

__all__ = ["report_html"]
