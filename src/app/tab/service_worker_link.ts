import { EnvironmentError } from "../../core/errors.ts";

/** How long a first registration may take to be at work. */
const readyMs = 10_000;

/** The way between this page's host and its service worker. */
export interface ServiceWorkerLink {
  /** Address below which the service worker answers for the gateway. */
  readonly gatewayUrl: string;
  close(): void;
}

/**
 * Registers the service worker and gives it ports to the host whenever it asks: the browser may stop it at any time.
 * @throws EnvironmentError "no_service_worker" where it cannot be had: a certificate that was clicked through, storage that
 * is switched off
 */
export async function linkServiceWorker(
  script: URL,
  givePort: (port: MessagePort) => void,
): Promise<ServiceWorkerLink> {
  const { serviceWorker } = navigator;
  if (serviceWorker === undefined) throw noServiceWorker(new Error("this browser has none"));
  const offer = (target: ServiceWorker | null | undefined): void => {
    if (!target) return;
    const { port1, port2 } = new MessageChannel();
    givePort(port1);
    target.postMessage({ kind: "leyden_gateway_port", port: port2 }, [port2]);
  };
  try {
    const registration = await serviceWorker.register(script, { updateViaCache: "none" });
    await controlled(registration);
    offer(serviceWorker.controller);
    const wanted = ({ data, source }: MessageEvent): void => {
      if ((data as { kind?: unknown } | null)?.kind === "leyden_gateway_port_wanted") offer(source as ServiceWorker);
    };
    const changed = (): void => offer(serviceWorker.controller);
    serviceWorker.addEventListener("message", wanted);
    serviceWorker.addEventListener("controllerchange", changed);
    serviceWorker.startMessages();
    return {
      gatewayUrl: new URL("gateway", registration.scope).href,
      close() {
        serviceWorker.removeEventListener("message", wanted);
        serviceWorker.removeEventListener("controllerchange", changed);
      },
    };
  } catch (thrown) {
    throw noServiceWorker(thrown);
  }
}

function noServiceWorker(cause: unknown): EnvironmentError {
  const reason = cause instanceof Error ? cause.message : String(cause);
  const message = `No service worker answers for the gateway (${reason}): agents reach it by their fetch alone.`;
  return new EnvironmentError("no_service_worker", message, { do: "Allow this page to store files.", cause });
}

/** Resolves when the service worker answers for this page. @throws Error when it does not in time */
async function controlled(registration: ServiceWorkerRegistration): Promise<void> {
  if (navigator.serviceWorker.controller !== null) return;
  await new Promise<void>((resolve, reject) => {
    const late = setTimeout(() => reject(new Error(`it was not at work within ${readyMs / 1000} s`)), readyMs);
    const done = (): void => {
      clearTimeout(late);
      resolve();
    };
    navigator.serviceWorker.addEventListener("controllerchange", done, { once: true });
    // A page that was loaded past its service worker (by a forced reload) is not claimed by one that is active already.
    if (registration.active !== null) registration.active.postMessage({ kind: "leyden_claim" });
  });
}
