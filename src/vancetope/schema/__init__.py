"""JSON out of a model's text, and whether it fits a schema."""

from vancetope.schema.extraction import Extraction, NoJson, Reason, Rule, extract, find
from vancetope.schema.problems import Problem
from vancetope.schema.validate import InvalidSchema, Validator

__all__ = ["Extraction", "InvalidSchema", "NoJson", "Problem", "Reason", "Rule", "Validator", "extract", "find"]
