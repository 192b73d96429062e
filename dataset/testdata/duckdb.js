// Reads a JSON list of SQL texts from standard input, runs them in one DuckDB session and writes a JSON list of tables,
// each {"columns": [...], "rows": [[...], ...]}. Needs the npm package @duckdb/node-api on NODE_PATH.
const { DuckDBInstance } = require("@duckdb/node-api");

async function main() {
  const queries = JSON.parse(require("fs").readFileSync(0, "utf8"));
  const db = await (await DuckDBInstance.create(":memory:")).connect();
  const tables = [];
  for (const sql of queries) {
    const reader = await db.runAndReadAll(sql);
    tables.push({ columns: reader.columnNames(), rows: reader.getRowsJson() });
  }
  process.stdout.write(JSON.stringify(tables));
}

main().catch((err) => {
  console.error(err.message);
  process.exit(1);
});
