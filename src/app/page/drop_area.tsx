import type { JSX } from "hono/jsx/dom/jsx-runtime";
import { useLiveState } from "../../../gateway/studio/client/live_state.ts";
import { chosenFolder, type DroppedFolder, droppedFolder } from "./dropped_files.ts";

/** Takes what a person brings: a folder that is still being read, or one that was. */
export type Bring = (folder: DroppedFolder | Promise<DroppedFolder>) => Promise<void>;

/** A button that opens the browser's choice of files. */
export interface FileButtonProps {
  readonly text: string;
  readonly busy: boolean;
  /** A folder with everything in it; else one zip archive. */
  readonly takes: "folder" | "zip";
  readonly bring: Bring;
}

export function FileButton({ text, busy, takes, bring }: FileButtonProps): JSX.Element {
  return (
    <label class="pg-button">
      {text}
      <input
        class="pg-visually-hidden"
        type="file"
        disabled={busy}
        {...(takes === "folder" ? { webkitdirectory: true } : { accept: ".zip,application/zip" })}
        onChange={(event: Event) => {
          const input = event.target as HTMLInputElement;
          const { files } = input;
          if (files === null || files.length === 0) return;
          const folder = chosenFolder(files);
          // The same choice is another one the next time.
          input.value = "";
          void bring(folder);
        }}
      />
    </label>
  );
}

/** Where a folder is dropped, with buttons for those who do not drag. */
export interface DropAreaProps {
  readonly text: string;
  readonly busy: boolean;
  readonly bring: Bring;
  readonly children: JSX.Element | readonly JSX.Element[];
}

export function DropArea({ text, busy, bring, children }: DropAreaProps): JSX.Element {
  const [over, setOver] = useLiveState(false);
  return (
    <section
      aria-label={text}
      class={over ? "pg-drop pg-over" : "pg-drop"}
      onDragOver={(event: DragEvent) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event: DragEvent) => {
        event.preventDefault();
        setOver(false);
        if (event.dataTransfer && !busy) void bring(droppedFolder(event.dataTransfer));
      }}
    >
      <p>{text}</p>
      {children}
    </section>
  );
}
