# SPDX-License-Identifier: Apache-2.0
"""Files with names that no command line can give.  usage: names.py URI; each file's bytes are those of its name, cut to 100."""
import sys

import gridfs
import pymongo

bucket = gridfs.GridFSBucket(pymongo.MongoClient(sys.argv[1])["test"])
for name in ["", "m" * (1 << 20), "d/" + "p" * 300, "d/" + "q/" * 3000 + "r", "two\nlines\ttab \x1b[31m", "ordinary"]:
    bucket.upload_from_stream(name, name.encode()[:100])
