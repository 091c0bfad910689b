-- Reference models. The analysis does not read them yet: those of another tool are kept as it had them.

CREATE TABLE model (
  name TEXT NOT NULL PRIMARY KEY,
  created_us BIGINT,
  enabled BIGINT NOT NULL,
  json {bytes} NOT NULL
) {keyed};
