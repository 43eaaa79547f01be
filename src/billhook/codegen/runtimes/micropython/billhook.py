"""Reads models packed by Billhook, in MicroPython and CPython: load("model.bhm").predict(row)."""

import json
import struct
from array import array
from binascii import crc32
from math import exp

# `billhook emit` writes this module with short names and without comments, in at most 6 KB. So that it can: names
# that begin with an underscore are its own, there are no f-strings and no arguments by name, and what a function
# calls its own is the name of nothing else.


def load(blob):
    """Return the model that bytes, or those in a file, are; ValueError if they are none."""
    if isinstance(blob, str):
        with open(blob, "rb") as file:
            blob = file.read()
    blob = memoryview(blob)
    try:
        return LoadedModel(blob)
    except (AttributeError, IndexError, KeyError, OverflowError, RuntimeError, TypeError):
        raise ValueError("the blob is no valid model") from None


def _checked(data):
    if int.from_bytes(data[-4:], "little") != crc32(data[:-4]) & 0xFFFFFFFF:
        raise ValueError("the blob is damaged")
    return data[:-4]


class LoadedModel:
    """A model: `classes` are the labels, or None if it predicts a number; a row has `n_features` numbers."""

    def __init__(self, blob):
        if len(blob) < 16 or bytes(blob[:4]) != b"BHM\1":
            raise ValueError("this is no blob of version 1")
        end = int.from_bytes(blob[4:8], "big")
        if not 16 <= end <= len(blob):
            raise ValueError("the blob is cut off")
        self._read(_checked(blob[:end]))
        if len(blob) > end:
            names = json.loads(bytes(_checked(blob[end:])))
            # Whatever else than numbers and a list they are, adding to them is an error.
            self._base = 0 + names.get("base", 0 if "scale" in names else self._base)
            self._scale = 0 + names.get("scale", self._scale)
            if self.classes:
                n = len(self.classes)
                self.classes = [] + names["classes"]["labels"]
                if len(self.classes) != n:
                    raise IndexError

    def _read(self, data):
        """Read all sections, one after the other, into lists and arrays that a row is walked down with."""
        at = 12

        def numbers_of(n, width):
            """Return the numbers of a section, which begins at the next byte."""

            def each():
                nonlocal at
                number = have = 0
                for _ in range(n):
                    while have < width:
                        number = number << 8 | data[at]
                        at += 1
                        have += 8
                    have -= width
                    yield number >> have
                    number &= (1 << have) - 1

            if n > 8 * len(data):  # a number without bits stands beside others that have some
                raise IndexError
            return array("B" if width < 9 else "H" if width < 17 else "I", each())

        widths = numbers_of(18, 6)
        # fmt: off
        (gaps, kinds, shifts, begins, scales, keys, categories, trees, columns, sizes, numbers, tested, limits,
         missing, leaves, values, factors, starts) = [
            numbers_of(n, k) for n, k in zip(numbers_of(18, data[10]), widths)  # noqa: B905 - not in MicroPython
        ]
        # fmt: on
        flags, kind, n_columns = data[8], data[9], len(starts) - 3
        n_values = 1 if flags & 8 else n_columns
        self._scale, self._base = struct.unpack(">ff", data[-8:])
        if (
            at < len(data)
            or kind > 5
            or n_columns < 1
            or data[11]
            # One score for two classes, and regression, are two things, of one score; above are no flags.
            or (flags >> 4) + (kind >> 2) > (n_columns < 2)
            or widths[17] < 32
            or not 0 < self._scale < 1e39
        ):
            raise IndexError
        self.n_features = starts[n_columns]
        self.classes = None if kind > 3 else list(range(n_columns + (flags >> 4)))
        self._about = flags, kind, 23 - widths[12], min(1 << widths[12], 65535) - 1, (1 << widths[6]) - 1, n_values

        # Projections, sums of codes: where there are no missing values, three sections have weights, turns and lows.
        self._sums, n = [], len(gaps)
        if flags & 4 and missing:
            k = 1 << widths[6] >> 1, 1 << widths[5] >> 1
            if (
                not (0 < widths[6] < 9 and widths[5])
                or widths[13] > 5
                or len(keys) != len(missing)
                or len(categories) != len(missing) * n
            ):
                raise IndexError
            for at in range(len(missing)):
                way = [number - k[0] for number in categories[at * n : at * n + n]]
                low = keys[at] - k[1]
                number = sum(abs(number) for number in way)
                if not number or number * self._about[3] + abs(low) > 0x7FFFFFFF:
                    raise IndexError
                self._sums.append((array("b", way), missing[at], low))
            missing = keys = categories = ()

        # How the values of features become codes: by thresholds, a table of categories, or steps.
        self._ways, feature = [], 0
        for k in range(len(gaps)):
            feature += gaps[k]
            k = kinds[k]
            way, n = begins[k], scales[k]
            if shifts[k] > 1:
                way = way - (way >> 31 << 32), n
            else:
                table = categories if shifts[k] else keys
                if self._sums or way + n > len(table):
                    raise IndexError
                way = table[way : way + n]
                if not shifts[k]:
                    way = array("i", (k - 0x80000000 + (k < 0x80000000) for k in way))
            if feature >= self.n_features:
                raise IndexError
            self._ways.append((feature, shifts[kinds[len(self._ways)]], way))

        # Each code stands twice: a missing value goes right in the first, left in the second.
        n = len(gaps) + len(self._sums)
        self._codes = [0] * 2 * n
        self._limit, self._asked = array("H"), array("H" if n < 32768 else "I")
        for k in numbers or range(len(tested)):
            self._limit.append(limits[k])
            if tested[k] >= n:
                raise IndexError
            self._asked.append(tested[k] * 2 + (not missing[k] if missing else 0))

        self._sizes = sizes if widths[9] else None
        self._trees, first, at, leaf = [], 0, 0, 0
        for k in range(len(trees)):
            n = trees[k]
            self._trees.append((at, n, leaf, columns[k]))
            first += n
            leaf += n + 1
            at = first
            if not widths[9]:
                at = self._trees[-1][0]
                if n & n + 1:
                    raise IndexError
                while n:
                    n >>= 1
                    at += 1
            if first > len(sizes) or at > len(self._asked) or columns[k] > n_columns - n_values:
                raise IndexError
        self._entry = leaves or range(leaf)
        if first < len(sizes) or leaf > len(self._entry) or (max(self._entry) + 1) * n_values > len(values):
            raise IndexError
        self._value, self._factor, self._start = values, factors[:n_columns], starts
        self._scores, self._x = [0] * n_columns, array("f", (0,))
        self._start = [k - (k >> 31 << 32) for k in starts[:n_columns]]
        factors[n_columns - 1]

    def scores(self, row):
        """Return the scores of a row, whole numbers, in the same list each time."""
        if len(row) != self.n_features:
            raise ValueError("a row has " + str(self.n_features) + " numbers")
        flags, _, shift, most, unknown, n_values = self._about
        codes, x, at = self._codes, self._x, 0
        for feature, kind, way in self._ways:
            # As a float of 32 bits: its bits tell all.
            x[0] = row[feature]
            if flags & 2 and x[0] > row[feature]:  # the next float below
                k = struct.unpack_from("<i", x)[0]
                struct.pack_into("<i", x, 0, k - 1 if k > 0 else k + 1)
            low, high = struct.unpack_from("<HH", x)
            power, number = high >> 7 & 255, (high & 127) << 16 | low
            if power == 255 and number and not flags & 4:
                code, codes[at + 1] = 65536, -1
            else:
                if power == 255:
                    number = 0
                key = power << 23 | number
                if high >> 15:
                    key = -key
                if kind == 1:
                    code = way[int(x[0])] if way and -1 < x[0] < len(way) else unknown
                elif not kind:
                    code, end = 0, len(way)
                    while code < end:
                        k = code + end >> 1
                        if way[k] < key:
                            code = k + 1
                        else:
                            end = k
                else:
                    k, (offset, scale) = kind, way
                    if k < 34:
                        number = key + 0x80000000 - (key < 0) >> k
                    else:
                        # Of minus the number, so that it is rounded up.
                        number |= (power > 0) << 23
                        if power == 255:
                            k = 0
                        if key > 0:
                            number = -number
                        number = -(number >> min(k - power, 31) if power < k else number << min(power - k, 6))
                    code = min(max(number - offset, 0), 65535)
                    if scale:
                        # In two parts, so that no number has more than 30 bits.
                        code = code * (scale >> 8) + (code * (scale & 255) >> 8) >> shift
                    code = min(code, most)
                codes[at + 1] = code
            codes[at] = code
            at += 2
        for way, k, low in self._sums:
            number = 0
            for code in range(len(way)):
                number += way[code] * codes[code * 2]
            codes[at] = codes[at + 1] = min(max((number >> k) - low, 0), most)
            at += 2
        asked, limit, sizes, scores, value = self._asked, self._limit, self._sizes, self._scores, self._value
        for k in range(len(scores)):
            scores[k] = 0
        for at, n, leaf, column in self._trees:
            # Behind a split come those on its left, then those on its right.
            while n:
                n -= 1
                k = min(sizes[at], n) if sizes else n >> 1
                if codes[asked[at]] > limit[at]:
                    leaf += k + 1
                    n -= k
                    if sizes:
                        at += k
                else:
                    n = k
                at += 1
            at = self._entry[leaf] * n_values
            for k in range(n_values):
                scores[column + k] += value[at + k]
        for k in range(len(scores)):
            scores[k] = scores[k] * (self._factor[k] + 1) + self._start[k]
        return scores

    def predict(self, row):
        """Return the label of a row, or a number."""
        scores, flags = self.scores(row), self._about
        if not self.classes:
            number = scores[0] * self._scale + self._base
            return exp(number) if flags[1] > 4 else number
        if len(scores) > 1:
            return self.classes[scores.index(max(scores))]
        return self.classes[-(scores[0] >= (not flags[0] & 1))]

    def predict_proba(self, row):
        """Return the probability of each class."""
        if not self.classes:
            raise TypeError("the model predicts a number: use predict")
        raw = [k * self._scale for k in self.scores(row)]
        kind, number = self._about[1], raw[0]
        if len(raw) > 1:
            if kind == 2:
                number = max(raw)
                raw = [exp(k - number) for k in raw]
                number = sum(raw)
                raw = [k / number for k in raw]
            return raw
        if kind == 3:
            number = 1 - 2 ** min(-1 - number, 0)
        elif kind:
            number = 1 / (1 + exp(-number)) if number > 0 else 1 - 1 / (1 + exp(number))
        else:
            number = (1 + number) / 2
        return [1 - number, number][-len(self.classes) :]
