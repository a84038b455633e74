import { platform } from "#platform";
import { serveBounded } from "../rollout/graders/bounded_server.ts";

serveBounded(platform.workerPort());
