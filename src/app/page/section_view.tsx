import { useEffect } from "hono/jsx/dom";
import type { JSX } from "hono/jsx/dom/jsx-runtime";
import { useLiveState } from "../../../gateway/studio/client/live_state.ts";
import { systemClock } from "../../platform/clock.ts";
import { type PageBackend, serverFetch } from "./backend.ts";
import { ModelMemory } from "./model_memory.ts";
import { ModelPage } from "./model_page.tsx";
import { MountedPart, type Part } from "./mounted_part.tsx";
import type { RelayState } from "./relay_client.ts";
import type { Place } from "./routes.ts";
import type { RunFeed } from "./run_feed.ts";
import { RunMemory } from "./run_memory.ts";
import { RunPage } from "./run_page.tsx";
import { type Language, textsOf } from "./texts.ts";

/** What the open page shows. */
export interface SectionProps {
  readonly place: Place;
  readonly backend: PageBackend;
  readonly feed: RunFeed;
  /** Null where no relay sent the page. */
  readonly relay: RelayState | null;
  /** The server's key, which a room's teacher has; null without one. */
  readonly serverKey: string | null;
  readonly language: Language;
  onLanguage(language: Language): void;
}

/** The section that the address names. */
export function SectionView(props: SectionProps): JSX.Element {
  const { place, backend, feed, relay, language } = props;
  const [view, setView] = useLiveState(feed.view());
  useEffect(() => feed.subscribe(() => setView(feed.view())), [feed]);
  const [memory] = useLiveState(() => ({ model: new ModelMemory(), run: new RunMemory() }));
  const say = textsOf(language);
  const part = partOf(props);
  if (part !== null) return <MountedPart key={part.name} say={say} {...part} />;
  if (place.section === "model" && backend.tab !== null) {
    return (
      <ModelPage
        key="model"
        tab={backend.tab}
        memory={memory.model}
        say={say}
        choices={view.choices}
        refresh={() => void feed.refresh()}
      />
    );
  }
  return <RunPage key="run" {...{ backend, feed, view, relay, say }} memory={memory.run} />;
}

/** The section's part that is loaded when it is first shown; null for sections that are there from the beginning. */
function partOf({ place, backend, serverKey, language, onLanguage }: SectionProps): Part | null {
  const ask = (path: string, init?: RequestInit): Promise<Response> => backend.fetch(path, init);
  const isRecord = backend.kind === "served" && backend.setting.kind === "record";
  if (place.section === "studio" || isRecord) {
    const load: Part["load"] = async (root) => {
      const { mountStudio } = await import("../../../gateway/studio/client/mount.tsx");
      const starts = backend.tab === null ? {} : { startHref: "#run" };
      return mountStudio(root, { fetch: ask, language, clock: systemClock, ...starts });
    };
    return { name: "studio", version: language, failed: "fault.studio", load };
  }
  // The room is the server's, also where the page trains by itself.
  const server = backend.setting.room ? serverFetch(serverKey) : null;
  if (place.section === "room" && server !== null) {
    const load: Part["load"] = async (root) => {
      const { mountRoom } = await import("./lessons/mount_room.tsx");
      return mountRoom(root, { ask: server, language });
    };
    return { name: "room", version: language, failed: "fault.lessons", load };
  }
  if (place.section !== "lessons") return null;
  const lesson = place.id === "" ? null : place.id;
  const load: Part["load"] = async (root) => {
    const { mountLessons } = await import("./lessons/mount.tsx");
    const studioHref = (route: string): string => `#/${route}`;
    return mountLessons(root, { lesson, fetch: ask, language, onLanguage, studioHref, room: server });
  };
  return { name: "lessons", version: `${language} ${lesson ?? ""}`, failed: "fault.lessons", load };
}
