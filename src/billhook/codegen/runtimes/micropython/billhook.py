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
    except (IndexError, KeyError, OverflowError, TypeError):
        raise ValueError("the blob is no valid model") from None


def _checked(data):
    if int.from_bytes(data[-4:], "little") != crc32(data[:-4]) & 0xFFFFFFFF:
        raise ValueError("the blob is damaged")
    return data[:-4]


def _width(n):
    """Return how many bits tell n values apart."""
    bits = 0
    while n - 1 >> bits > 0:
        bits += 1
    return bits


def _signed(n):
    return n >> 1 ^ -(n & 1)


class LoadedModel:
    """A model: `classes` are the labels, or None if it predicts a number; a row has `n_features` numbers."""

    def __init__(self, blob):
        if len(blob) < 21 or bytes(blob[:4]) != b"BHM\1":
            raise ValueError("this is no blob of version 1")
        end, self._scale, self._base, n = struct.unpack_from("<IffB", blob, 4)
        if not 21 + n <= end <= len(blob):
            raise ValueError("the blob is cut off")
        data = _checked(blob[:end])
        fields, number, at = [], 0, 0
        for byte in data[17 : 17 + n]:
            number |= (byte & 127) << at
            at += 7
            if byte < 128:
                fields.append(number)
                number = at = 0
        self._read(data[17 + n :], fields + [0] * (32 - len(fields)))
        if len(blob) > end:
            names = json.loads(bytes(_checked(blob[end:])))
            # Whatever else than numbers and a list they are, adding to them is an error.
            self._scale, self._base = 0 + names["scale"], 0 + names.get("base", 0)
            if self.classes:
                n = len(self.classes)
                self.classes = [] + names["classes"]["labels"]
                if len(self.classes) != n:
                    raise IndexError

    def _read(self, data, fields):
        """Read all sections, one after the other, into lists and arrays that a row is walked down with."""
        # What begins with n is how many there are, with w how many bits one has, with b how many bytes.
        # fmt: off
        (flags, n_features, n_classes, n_trees, n_leaves, n_used, w_code, w_tree, least, w_leaf, base, b_base,
         n_pairs, n_entries, shift, offset, scale, b_shift, b_offset, b_scale, n_grids, group, gaps, w_gap,
         w_many, w_count, n_keys, n_sets, n_in_sets, w_set, w_size, n_tests) = fields
        # fmt: on
        self.n_features = n_features
        self.classes = None if flags & 32 else list(range(n_classes))
        n_columns = 1 if flags & 4096 else n_classes
        n_values = 1 if flags & 8192 else n_columns
        is_symmetric = flags & 1024
        if not is_symmetric:
            n_tests = n_leaves - n_trees
        most = 1 if flags & 32 else 2 if flags & 4096 else 65535
        links = 9 if flags & 32 else 23  # a bit for each that can be
        if not (0 < n_classes <= most and links >> (flags & 7) & 1 and w_leaf and 0 < self._scale < 1e39):
            raise IndexError
        # No loop is long, even if it reads nothing.
        if flags >> 14 or max(fields[2:10] + fields[11:15] + fields[16:]) > 8 * len(data) + 2**20:
            raise IndexError
        at = 0

        def take(width):
            """Return the next number of so many bits, lowest first."""
            nonlocal at
            number, have = 0, 0
            while have < width:
                number |= data[at >> 3] >> (at & 7) << have
                have += 8 - (at & 7)
                at += 8 - (at & 7)
            at += width - have
            return number & (1 << width) - 1

        def section(n, width):
            """Return the numbers of a section, which begins at the next byte."""
            nonlocal at
            at = at + 7 & ~7
            return array("B" if width < 9 else "H" if width < 17 else "I", (take(width) for _ in range(n)))

        def gap(width):
            """Return the next number that is as many ones as its high bits say, a zero, and its low bits."""
            number = 0
            while take(1):
                number += 1
            for _ in range(width):
                number = 2 * number + take(1)
            return number

        def cut(numbers, sizes):
            for n in sizes:
                ways.append(numbers[:n])
                numbers = numbers[n:]

        # How the values of features become codes: by thresholds, steps or a table of categories.
        used = range(n_used)
        if flags & 512:
            used = [k for k, bit in enumerate(section(n_features, 1)) if bit]
        elif n_sets or n_used < n_features:
            used = section(n_used, max(_width(n_features), 1))
        n_ordered = n_used - n_sets
        ways = []
        if flags & 256:
            sizes = section(n_ordered, w_count)
            keys = section(n_keys, 32)
            cut(array("i", (k - 0x80000000 + (k < 0x80000000) for k in keys)), sizes)
        else:
            section(0, 0)
            for _ in range(n_grids or n_ordered):
                k = shift + take(8 * b_shift)
                n = _signed(offset) + take(8 * b_offset)
                ways.append((k, n, scale + take(8 * b_scale)))
            if n_grids:
                ways = [ways[k] for k in section(n_ordered, _width(n_grids))]
        sizes = section(n_sets, w_size)
        cut(section(n_in_sets, w_set), sizes)
        self._ways = list(zip(used, ways))  # noqa: B905 - not in MicroPython
        self._about = flags, 2 * n_ordered, 23 - w_code, min(1 << w_code, 65535) - 1, (1 << w_set) - 1, n_values

        section(0, 0)
        n = _width(n_columns) if n_values < n_columns else 0
        trees = [(least + take(w_tree), take(n)) for _ in range(n_trees)]
        section(0, 0)
        # For each side of a split the split it leads to, or the complement of a leaf.
        self._trees, to, first, leaf = [], array("i"), 0, 0
        for n, column in trees:
            self._trees.append((first if n else -1, n if is_symmetric else 0, leaf, column))
            ones = 0
            if (n > 16 and is_symmetric) or column >= n_columns:
                raise IndexError
            for k in range(0 if is_symmetric else 2 * n):
                bit = take(1)
                ones += bit
                if bit and not k < 2 * ones < 2 * n:
                    raise IndexError
                to.append(first + ones if bit else ~(leaf + k - ones))
            first += n
            leaf += 1 << n if is_symmetric else n + 1
        self._to = to

        section(0, 0)
        w_feature, is_split = _width(n_used), flags & 24 == 24
        w_test = w_code + w_feature + is_split
        size, radix = ((1, 1), (3, 5), (2, 11), (3, 6))[group]
        n = (_width(n_pairs) if n_pairs else w_test) - _width(radix)
        tests = []
        for k in range(n_tests):
            if k % size == 0:
                digits = take(_width(radix**size))
            tests.append(digits % radix << n | take(n))
            digits //= radix
        if n_pairs:
            section(0, 0)
            end, pairs = at + gaps, []
            for k in range(n_used if gaps else 0):
                key, n = -1, gap(w_many) + 1
                for _ in range(n):
                    key += gap(max(w_gap - _width(n + 1), 0)) + 1
                    pairs.append(((key & is_split) << w_feature | k) << w_code | key >> is_split)
            if gaps:
                at = end
            else:
                pairs = [take(w_test) for _ in range(n_pairs)]
            tests = [pairs[k] for k in tests]
        # Each code stands twice: a missing value goes right in the first, left in the second.
        self._codes = [0] * 2 * n_used
        self._limit = array("H", (k & (1 << w_code) - 1 for k in tests))
        self._asked = array("H" if n_used < 32768 else "I")
        for k in tests:
            k >>= w_code
            n = (k & (1 << w_feature) - 1) * 2 + (k >> w_feature if is_split else flags >> 4 & 1)
            self._codes[n]
            self._asked.append(n)

        self._entry = section(n_leaves, _width(n_entries)) if n_entries else range(n_leaves)
        self._value = section((n_entries or n_leaves) * n_values, w_leaf)
        self._factor = section(n_columns, 8) if flags & 2048 else [1] * n_columns
        section(0, 0)
        end = at + max(24, 8 * b_base * n_columns)
        self._start = [_signed(base) + k for k in section(n_columns, 8 * b_base)]
        self._scores, self._x = [0] * n_columns, array("f", (0,))
        is_whole = end == 8 * len(data) and first == n_tests and leaf == n_leaves and len(self._ways) == n_used
        if not is_whole or max(self._entry) >= (n_entries or n_leaves) or (n_used and max(used) >= n_features):
            raise IndexError

    def scores(self, row):
        """Return the scores of a row, whole numbers, in the same list each time."""
        if len(row) != self.n_features:
            raise ValueError("a row has " + str(self.n_features) + " numbers")
        flags, n_ordered, shift, most, unknown, n_values = self._about
        codes, x, at = self._codes, self._x, 0
        for feature, way in self._ways:
            # As a float of 32 bits: its bits tell all.
            x[0] = row[feature]
            low, high = struct.unpack_from("<HH", x)
            power, number = high >> 7 & 255, (high & 127) << 16 | low
            if power == 255 and number and flags & 24:
                code, codes[at + 1] = 65536, -1
            else:
                if power == 255:
                    number = 0
                key = power << 23 | number
                if high >> 15:
                    key = -key
                if at >= n_ordered:
                    code = way[int(x[0])] if way and -1 < x[0] < len(way) else unknown
                elif flags & 256:
                    code, end = 0, len(way)
                    while code < end:
                        k = code + end >> 1
                        if way[k] < key:
                            code = k + 1
                        else:
                            end = k
                else:
                    k, offset, scale = way
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
        asked, limit, to, scores, value = self._asked, self._limit, self._to, self._scores, self._value
        for k in range(len(scores)):
            scores[k] = 0
        for at, n, leaf, column in self._trees:
            if n:
                number = 0
                for k in range(at, at + n):
                    number = 2 * number + (codes[asked[k]] > limit[k])
                at = ~(leaf + number)
            while at >= 0:
                at = to[2 * at + (codes[asked[at]] > limit[at])]
            at = self._entry[~at] * n_values
            for k in range(n_values):
                scores[column + k] += value[at + k]
        for k in range(len(scores)):
            scores[k] = scores[k] * self._factor[k] + self._start[k]
        return scores

    def predict(self, row):
        """Return the label of a row, or a number."""
        scores, flags = self.scores(row), self._about[0]
        if not self.classes:
            number = scores[0] * self._scale + self._base
            return exp(number) if flags & 7 == 3 else number
        if len(scores) > 1:
            return self.classes[scores.index(max(scores))]
        return self.classes[-(scores[0] >= (not flags & 64))]

    def predict_proba(self, row):
        """Return the probability of each class."""
        if not self.classes:
            raise TypeError("the model predicts a number: use predict")
        raw = [k * self._scale for k in self.scores(row)]
        link, number = self._about[0] & 7, raw[0]
        if len(raw) > 1:
            if link == 2:
                number = max(raw)
                raw = [exp(k - number) for k in raw]
                number = sum(raw)
                raw = [k / number for k in raw]
            return raw
        if link == 4:
            number = 1 - 2 ** min(-1 - number, 0)
        elif link:
            number = 1 / (1 + exp(-number)) if number > 0 else 1 - 1 / (1 + exp(number))
        else:
            number = (1 + number) / 2
        return [1 - number, number][-len(self.classes) :]
