/** What a server tells the page that it serves; on a static host there is only the page. */
export interface PageSetting {
  /**
   * `tab`: the page trains by itself. `run`: the server has a run or recorded calls to show, and its key opens them.
   * `record`: there is a finished run to look at. `relay`: the page trains by itself, and programs on this computer reach its model through the server.
   */
  readonly kind: "tab" | "run" | "record" | "relay";
  /** False when the server asks for no key. */
  readonly needsKey: boolean;
  /** True when the server shows a room's tabs to their teacher. */
  readonly room: boolean;
  /** True where nobody has vouched for the server's certificate: browsers then refuse its service worker. */
  readonly selfSigned?: boolean;
}

/** The setting of a page that nothing but its files is known of. */
export const plainPageSetting: PageSetting = { kind: "tab", needsKey: false, room: false };

/** Path of the setting among the page's files. */
export const pageSettingPath = "page.json";
