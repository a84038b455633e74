import { useEffect, useState } from "hono/jsx/dom";
import type { JSX } from "hono/jsx/dom/jsx-runtime";
import { systemClock } from "../../platform/clock.ts";
import { type PageBackend, serverFetch } from "./backend.ts";
import { ModelPage } from "./model_page.tsx";
import { MountedPart } from "./mounted_part.tsx";
import type { RelayState } from "./relay_client.ts";
import type { Place } from "./routes.ts";
import type { RunFeed } from "./run_feed.ts";
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
export function SectionView({
  place,
  backend,
  feed,
  relay,
  serverKey,
  language,
  onLanguage,
}: SectionProps): JSX.Element {
  const [view, setView] = useState(feed.view());
  useEffect(() => feed.subscribe(() => setView(feed.view())), [feed]);
  const say = textsOf(language);
  const ask = (path: string, init?: RequestInit): Promise<Response> => backend.fetch(path, init);
  const isRecord = backend.kind === "served" && backend.setting.kind === "record";
  if (place.section === "studio" || isRecord) {
    return (
      <MountedPart
        key="studio"
        version={language}
        loading={say("loading")}
        failed={say("fault.studio")}
        load={async (root) => {
          const { mountStudio } = await import("../../../gateway/studio/client/mount.tsx");
          const starts = backend.tab === null ? {} : { startHref: "#run" };
          return mountStudio(root, { fetch: ask, language, clock: systemClock, ...starts });
        }}
      />
    );
  }
  // The room is the server's, also where the page trains by itself.
  const server = backend.setting.room ? serverFetch(serverKey) : null;
  if (place.section === "room" && server !== null) {
    return (
      <MountedPart
        key="room"
        version={language}
        loading={say("loading")}
        failed={say("fault.lessons")}
        load={async (root) => {
          const { mountRoom } = await import("./lessons/mount_room.tsx");
          return mountRoom(root, { ask: server, language });
        }}
      />
    );
  }
  if (place.section === "lessons") {
    const lesson = place.id === "" ? null : place.id;
    return (
      <MountedPart
        key="lessons"
        version={`${language} ${lesson ?? ""}`}
        loading={say("loading")}
        failed={say("fault.lessons")}
        load={async (root) => {
          const { mountLessons } = await import("./lessons/mount.tsx");
          const studioHref = (route: string): string => `#/${route}`;
          return mountLessons(root, { lesson, fetch: ask, language, onLanguage, studioHref, room: server });
        }}
      />
    );
  }
  if (place.section === "model" && backend.tab !== null)
    return (
      <ModelPage key="model" tab={backend.tab} say={say} choices={view.choices} refresh={() => void feed.refresh()} />
    );
  return <RunPage key="run" backend={backend} feed={feed} view={view} relay={relay} say={say} />;
}
