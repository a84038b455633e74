import { PortClient, portRequest } from "../../../gateway/port/port_client.ts";
import { runScriptProgram } from "../../platform/worker_process/script_program.ts";
import { runWorkerProgram } from "../../platform/worker_process/worker_program.ts";

runWorkerProgram({
  load: async (script) => (script instanceof Blob ? runScriptProgram(script) : import(script)),
  connect({ port }) {
    const client = new PortClient(port);
    return async (request) => client.fetch(await portRequest(request), request.signal);
  },
});
