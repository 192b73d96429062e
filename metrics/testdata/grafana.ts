// Types that the Grafana dashboard must have, from Grafana's own schema (npm
// package @grafana/schema); a test puts the dashboard's parts behind them and
// has the compiler look.
import type { Dashboard, DataQuery, FieldConfig, Panel, RowPanel } from "@grafana/schema";
import type { FieldConfig as Lines, Options } from "@grafana/schema/dist/esm/raw/composable/timeseries/panelcfg/x/TimeSeriesPanelCfg_types.gen";

// Plain is T as JSON writes it: an enumeration's values as they are.
type Plain<T> = 0 extends 1 & T ? any
  : T extends string ? (string extends T ? string : `${T}`)
  : T extends (infer U)[] ? Plain<U>[]
  : T extends object ? { [K in keyof T]: Plain<T[K]> }
  : T;

// Query is a query to Prometheus, as far as it is used.
type Query = DataQuery & { expr: string; legendFormat?: string; range?: boolean };

type Chart = Omit<Panel, "type" | "targets" | "options" | "fieldConfig"> & {
  type: "timeseries";
  targets: Query[];
  options: Options;
  fieldConfig: { defaults: Omit<FieldConfig, "custom"> & { custom: Lines }; overrides: [] };
};

type Frame = Plain<Omit<Dashboard, "panels">>;
type Row = Plain<RowPanel>;
type Panels = Plain<Chart>;
