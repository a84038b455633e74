import type { JSX } from "hono/jsx/dom/jsx-runtime";
import { Compare } from "./compare.tsx";
import { contentId } from "./content_id.ts";
import { type StudioContext, StudioProvider, useStudio } from "./context.ts";
import { GroupView } from "./group_view.tsx";
import { useLiveState } from "./live_state.ts";
import { useStatus } from "./loading.ts";
import { Overview } from "./overview.tsx";
import { RolloutView } from "./rollout_view.tsx";
import { Rollouts } from "./rollouts.tsx";
import { hrefTo, type Route, useRoute, type View } from "./router.ts";
import { openShortcuts, Shortcuts } from "./shortcuts.tsx";
import type { TextKey } from "./texts.ts";
import { Timeline } from "./timeline.tsx";

const tabs: readonly (readonly [place: readonly string[], text: TextKey, views: readonly View[]])[] = [
  [[], "nav.overview", ["overview"]],
  [["rollouts"], "nav.rollouts", ["rollouts", "rollout", "group"]],
  [["timeline"], "nav.timeline", ["timeline"]],
  [["compare"], "nav.compare", ["compare"]],
];

/** The studio below its providers. */
export function StudioApp({ shared }: { shared: StudioContext }): JSX.Element {
  return (
    <StudioProvider value={shared}>
      <Frame />
    </StudioProvider>
  );
}

function Frame(): JSX.Element {
  const { say } = useStudio();
  const route = useRoute();
  return (
    <div class="st-studio">
      <div class="st-bar-top">
        <nav aria-label={say("nav.label")} class="st-tabs">
          {tabs.map(([place, text, views]) => (
            <a
              key={text}
              class="st-tab"
              href={hrefTo(place)}
              {...(views.includes(route.view) ? { "aria-current": "page" } : {})}
            >
              {say(text)}
            </a>
          ))}
        </nav>
        <Standing />
      </div>
      <div id={contentId} class="st-content" tabIndex={-1}>
        <Shown route={route} />
      </div>
      <Shortcuts />
    </div>
  );
}

function Shown({ route }: { route: Route }): JSX.Element {
  if (route.view === "rollouts") return <Rollouts key="rollouts" route={route} />;
  if (route.view === "rollout") return <RolloutView key={`rollout ${route.id}`} route={route} />;
  if (route.view === "group") return <GroupView key={`group ${route.id}`} route={route} />;
  if (route.view === "timeline") return <Timeline key="timeline" />;
  if (route.view === "compare") return <Compare key="compare" route={route} />;
  return <Overview key="overview" />;
}

/** The run's name and phase, and what may be done with it as a whole. */
function Standing(): JSX.Element {
  const { api, run, say } = useStudio();
  const { status, connected } = useStatus();
  const phase: TextKey = !api.isLive
    ? "phase.report"
    : !connected
      ? "phase.lost"
      : `phase.${status?.phase ?? "watched"}`;
  return (
    <div class="st-standing">
      <span class="st-run-name" title={run.name}>
        {run.name}
      </span>
      <span class={`st-phase st-phase-${phase.slice("phase.".length)}`} role="status">
        {say(phase)}
      </span>
      {run.can.report ? <ReportButton /> : null}
      <button type="button" class="st-button st-round" aria-label={say("keys.title")} onClick={openShortcuts}>
        ?
      </button>
    </div>
  );
}

function ReportButton(): JSX.Element {
  const { api, run, say } = useStudio();
  const [state, setState] = useLiveState({ busy: false, error: "" });
  const save = async (): Promise<void> => {
    setState({ busy: true, error: "" });
    try {
      const address = URL.createObjectURL(await api.report());
      const link = document.createElement("a");
      link.href = address;
      link.download = `${run.name.replaceAll(/[^\w.-]+/g, "_") || "run"}.html`;
      link.click();
      URL.revokeObjectURL(address);
      setState({ busy: false, error: "" });
    } catch (thrown) {
      setState({ busy: false, error: thrown instanceof Error ? thrown.message : String(thrown) });
    }
  };
  return (
    <span>
      <button type="button" class="st-button" disabled={state.busy} onClick={() => void save()}>
        {say(state.busy ? "report.busy" : "report.save")}
      </button>
      {state.error === "" ? null : (
        <span class="st-error" role="alert">
          {state.error}
        </span>
      )}
    </span>
  );
}
