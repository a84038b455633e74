import { useEffect, useMemo } from "hono/jsx/dom";
import type { JSX } from "hono/jsx/dom/jsx-runtime";
import type { TableFilters } from "./api.ts";
import { useStudio } from "./context.ts";
import { Filters, filtersOf, queryOfFilters } from "./filters.tsx";
import { numberText } from "./format.ts";
import { useLiveState } from "./live_state.ts";
import { PageCache } from "./page_cache.ts";
import { goTo, hrefTo, type Route } from "./router.ts";
import { VirtualTable } from "./virtual_table.tsx";

/** The table of rollouts: filtered and sorted where they are kept, fetched as they come into sight. */
export function Rollouts({ route }: { route: Route }): JSX.Element {
  const { api, say, language } = useStudio();
  const filters = filtersOf(route.query);
  const key = JSON.stringify(filters);
  const [, setTold] = useLiveState(0);
  const [error, setError] = useLiveState<string | null>(null);
  const cache = useMemo(
    () =>
      new PageCache(
        (offset, limit) => api.rollouts(filters, offset, limit),
        (thrown) => {
          setError(thrown === null ? null : thrown instanceof Error ? thrown.message : String(thrown));
          setTold((n) => n + 1);
        },
      ),
    [key],
  );
  useEffect(() => {
    cache.want(0, 1);
    return () => cache.close();
  }, [cache]);
  const change = (changed: Partial<TableFilters>): void =>
    goTo(hrefTo(["rollouts"], queryOfFilters({ ...filters, ...changed })), true);
  return (
    <section class="st-rollouts" aria-labelledby="st-rollouts-title">
      <div class="st-heading">
        <h2 id="st-rollouts-title">{say("nav.rollouts")}</h2>
        <p class="st-count" role="status">
          {cache.total === null ? say("loading") : say("rollouts.count", { n: numberText(cache.total, language) })}
        </p>
      </div>
      <Filters filters={filters} agents={cache.agents} change={change} />
      {error === null ? null : (
        <p class="st-error" role="alert">
          {say("error.load")} <span lang="en">{error}</span>
        </p>
      )}
      <VirtualTable key={key} cache={cache} filters={filters} change={change} />
    </section>
  );
}
