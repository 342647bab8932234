-- The trial's customers, and the two roles of docs/databases.md. PostgreSQL runs this once, at its first start.
CREATE TABLE customers (
  id text PRIMARY KEY,
  company_name text NOT NULL,
  warehouse text DEFAULT 'eu-1',
  plan text NOT NULL DEFAULT 'team',
  status text NOT NULL DEFAULT 'active'                 -- or cancelled
);
INSERT INTO customers (id, company_name, warehouse, plan) VALUES
  ('cus-1001', 'Alderbrook Logistics', 'eu-1', 'team'),
  ('cus-1002', 'Bluestone Coffee', 'eu-1', 'team'),
  ('cus-1003', 'Cedar & Sons', 'us-2', 'enterprise'),
  ('cus-1004', 'Dune Textiles', NULL, 'team'),          -- not ready: groupsync waits for its warehouse
  ('cus-1005', 'Elm Street Bakery', 'us-2', 'free');

CREATE ROLE groupsync_reader LOGIN PASSWORD 'trial-reader';
GRANT SELECT (id, company_name, warehouse, plan, status) ON customers TO groupsync_reader;

CREATE ROLE groupsync LOGIN PASSWORD 'trial-groupsync';
CREATE SCHEMA groupsync AUTHORIZATION groupsync;
CREATE SCHEMA groupsync_tokens AUTHORIZATION groupsync;

-- The application, which reads the tokens and nothing else of groupsync's.
CREATE ROLE app LOGIN PASSWORD 'trial-app';
GRANT USAGE ON SCHEMA groupsync_tokens TO app;
ALTER DEFAULT PRIVILEGES FOR ROLE groupsync IN SCHEMA groupsync_tokens GRANT SELECT ON TABLES TO app;

-- So that groupsync hears of a new or changed customer at once: see docs/new-tenants.md.
CREATE FUNCTION notify_customer_changed() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM pg_notify('customers_changed', NEW.id);
  RETURN NULL;
END $$;
CREATE TRIGGER customers_changed AFTER INSERT OR UPDATE ON customers
  FOR EACH ROW EXECUTE FUNCTION notify_customer_changed();
