import { useEffect } from "hono/jsx/dom";
import type { JSX } from "hono/jsx/dom/jsx-runtime";
import { contentId } from "../../../gateway/studio/client/content_id.ts";
import { useLiveState } from "../../../gateway/studio/client/live_state.ts";
import { FaultNotice } from "./environment.tsx";
import { Header } from "./header.tsx";
import { LockedPage } from "./locked_page.tsx";
import { type Opening, openPage, openTabHere, openWithKey } from "./opening.ts";
import { type AddressSecrets, applyLanguage, applyTheme, preferredLanguage, preferredTheme } from "./preferences.ts";
import { useRelay } from "./relay_panel.tsx";
import { type Place, placeOf, type Section } from "./routes.ts";
import { SectionView } from "./section_view.tsx";
import { Standstill } from "./standstill.tsx";
import { textsOf } from "./texts.ts";

/** True where there is a recorded run to look into, and nothing else. */
function isRecord(opening: Opening): boolean {
  return opening.state === "open" && opening.backend.kind === "served" && opening.backend.setting.kind === "record";
}

/** Sections that a page shows, by what it talks to. */
function sectionsOf(opening: Opening, isTeacher: boolean): readonly Section[] {
  if (opening.state !== "open") return [];
  const { kind, setting } = opening.backend;
  if (isRecord(opening)) return ["studio"];
  const common: readonly Section[] = ["run", "studio"];
  const own: readonly Section[] = kind === "tab" ? ["lessons", "model"] : ["lessons"];
  return [...common, ...own, ...(setting.room && isTeacher ? (["room"] as const) : [])];
}

function usePlace(): Place {
  const [place, setPlace] = useLiveState(placeOf(location.hash));
  useEffect(() => {
    const moved = (): void => setPlace(placeOf(location.hash));
    addEventListener("hashchange", moved);
    return () => removeEventListener("hashchange", moved);
  }, []);
  return place;
}

/** To what the page shows, beyond the ways to its places and the studio's own. */
function skip(): void {
  (document.getElementById(contentId) ?? document.getElementById("pg-main"))?.focus();
}

/** The whole page. */
export function Shell({ secrets }: { secrets: AddressSecrets }): JSX.Element {
  const [language, setLanguage] = useLiveState(preferredLanguage());
  const [theme, setTheme] = useLiveState(preferredTheme());
  const [opening, setOpening] = useLiveState<Opening>({ state: "opening" });
  const place = usePlace();
  const say = textsOf(language);
  useEffect(() => applyLanguage(language, say("title")), [language]);
  useEffect(() => applyTheme(theme), [theme]);
  useEffect(() => {
    void openPage(secrets.key).then(setOpening);
  }, []);
  const relay = useRelay(opening.state === "open" ? opening.backend : null, secrets.relay);
  const retry = (): void => {
    const setting = opening.state === "blocked" ? opening.setting : null;
    setOpening({ state: "opening" });
    void (setting === null ? openPage(secrets.key) : openTabHere(setting)).then(setOpening);
  };
  const section = isRecord(opening) ? "studio" : place.section;
  const isWide = opening.state === "open" && section !== "run" && section !== "model";
  return (
    <>
      <button type="button" class="pg-skip" onClick={skip}>
        {say("skip")}
      </button>
      <Header
        say={say}
        section={section}
        sections={sectionsOf(opening, secrets.key !== null)}
        language={language}
        theme={theme}
        onLanguage={setLanguage}
        onTheme={setTheme}
      />
      <main id="pg-main" class={isWide ? "pg-main pg-wide" : "pg-main"} tabindex={-1}>
        {opening.state === "opening" && <p role="status">{say("loading")}</p>}
        {opening.state === "blocked" && <FaultNotice fault={opening.fault} say={say} retry={retry} />}
        {opening.state === "locked" && (
          <LockedPage
            say={say}
            useTab={() => void openTabHere(opening.setting).then(setOpening)}
            open={async (key) => {
              const served = await openWithKey(opening.setting, key);
              if (served !== null) setOpening(served);
              return served !== null;
            }}
          />
        )}
        {opening.state === "open" && opening.backend.tab !== null && <Standstill tab={opening.backend.tab} say={say} />}
        {opening.state === "open" && (
          <SectionView
            place={place}
            backend={opening.backend}
            feed={opening.feed}
            relay={relay}
            serverKey={secrets.key}
            language={language}
            onLanguage={setLanguage}
          />
        )}
      </main>
    </>
  );
}
