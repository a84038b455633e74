// The Files contract on every runtime: node:fs in Node and Deno, the origin's private file system in a browser; memory,
// and files of another thread reached through a port.
import { platform } from "#platform";
import { filePort, serveFiles } from "../../src/platform/file_port.ts";
import { memoryFiles } from "../../src/platform/memory_files.ts";
import { filesConformance } from "./files_conformance.ts";

filesConformance("files", platform.files);
filesConformance("files in memory", memoryFiles());

const { port1, port2 } = new MessageChannel();
serveFiles(memoryFiles(), port1);
filesConformance("files through a port", filePort(port2));
