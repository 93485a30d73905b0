"""Mends what moto 5.2.1 does otherwise than AWS, as far as a cluster's infrastructure meets it: one module out of the
files of this folder, this one first.

Runs before moto's server in the same interpreter. AWS' behaviour is that of its documentation.
"""


def wrap(owner, name):
    """Puts a function around a method: it gets the original first."""

    def decorate(function):
        original = getattr(owner, name)

        def method(self, *arguments, **named):
            return function(original, self, *arguments, **named)

        setattr(owner, name, method)
        return function

    return decorate
