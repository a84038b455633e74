import { PortClient, portRequest } from "../../../gateway/port/port_client.ts";
import { runWorkerProgram } from "../../platform/worker_process/worker_program.ts";

runWorkerProgram({
  load: (script) => import(script),
  connect({ port }) {
    const client = new PortClient(port);
    return async (request) => client.fetch(await portRequest(request), request.signal);
  },
});
