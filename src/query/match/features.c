/* SPDX-License-Identifier: Apache-2.0 */
/* What docs/COMPATIBILITY.md says about the query operators. */
#include "query/match/match.h"

const ash_feature *ash__match_features(void)
{
    static const ash_feature table[] = {
        {"$eq", "full", ""},
        {"$ne", "full", ""},
        {"$gt", "full", ""},
        {"$gte", "full", ""},
        {"$lt", "full", ""},
        {"$lte", "full", ""},
        {"$in", "full", ""},
        {"$nin", "full", ""},
        {"$and", "full", ""},
        {"$or", "full", ""},
        {"$nor", "full", ""},
        {"$not", "full", ""},
        {"$exists", "full", ""},
        {"$type", "full", ""},
        {"$mod", "full", ""},
        {"$regex", "full",
         "PCRE2 with a bounded number of steps and the time of the operation; options i m s x u"},
        {"$options", "full", ""},
        {"$all", "full", ""},
        {"$elemMatch", "full", ""},
        {"$size", "full", ""},
        {"$bitsAllSet", "full", ""},
        {"$bitsAllClear", "full", ""},
        {"$bitsAnySet", "full", ""},
        {"$bitsAnyClear", "full", ""},
        {"$expr", "full", "with the expression operators listed"},
        {"$comment", "full", ""},
        {"$alwaysTrue", "full", ""},
        {"$alwaysFalse", "full", ""},
        {"$jsonSchema", "partly",
         "bsonType, type, required, properties, enum, minimum, maximum, exclusiveMinimum, "
         "exclusiveMaximum, minLength, maxLength, pattern, items, minItems, maxItems, "
         "additionalProperties as a boolean, title, description; other keywords: 9"},
        {"$where", "refused", "2: there is no JavaScript"},
        {"$text", "refused", "27: there are no text indexes"},
        {"$near", "refused", "291: there are no geospatial indexes"},
        {"$nearSphere", "refused", "291: there are no geospatial indexes"},
        {"$geoWithin", "refused", "238"},
        {"$geoIntersects", "refused", "238"},
        {"$sampleRate", "refused", "238"},
        {NULL, NULL, NULL},
    };
    return table;
}
