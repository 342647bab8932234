-- What the example application needs in the database, beside its customers. The role app is its own.
CREATE TABLE users (
  email text PRIMARY KEY,
  salt bytea NOT NULL,
  hash bytea NOT NULL,
  customer_id text NOT NULL
);
GRANT SELECT, INSERT ON users TO app;
GRANT SELECT (id, company_name, status), INSERT (id, company_name) ON customers TO app;
