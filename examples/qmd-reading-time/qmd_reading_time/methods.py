"""The method that the feature adds to `Index`."""

from types import MappingProxyType

from qmd.engine.access.rules import Rule
from qmd.engine.parts import Part
from qmd_reading_time import minutes


class ReadingMethods(Part):
    """`Index.reading_time`."""

    # Anybody who may read a document may ask for this.
    _rules = MappingProxyType({"reading_time": Rule()})

    def reading_time(self, reference):
        """Return how many minutes a document takes to read.

        Raises:
            DocumentNotFoundError: No document has this name.
        """
        return minutes(self.get(reference).text)
