// The least of a page: what opens a tab, within reach of a test.
import { openTab } from "../../../src/app/tab/tab_host.ts";

Object.assign(globalThis, { openTab });
