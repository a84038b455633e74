import { type CispoOptions, cispo } from "./cispo.ts";
import { type DppoTvOptions, dppoTv } from "./dppo_tv.ts";
import { type DroOptions, dro } from "./dro.ts";
import { type GmpoOptions, gmpo } from "./gmpo.ts";
import { type GspoOptions, gspo } from "./gspo.ts";
import type { PolicyLoss } from "./policy_loss.ts";
import { type PpoOptions, ppo } from "./ppo.ts";
import { type ReinforceOptions, reinforce } from "./reinforce.ts";
import { type SapoOptions, sapo } from "./sapo.ts";

/** Options of every policy loss, by name. */
export interface PolicyLossOptions {
  ppo: PpoOptions;
  gspo: GspoOptions;
  gmpo: GmpoOptions;
  cispo: CispoOptions;
  sapo: SapoOptions;
  dppo_tv: DppoTvOptions;
  reinforce: ReinforceOptions;
  dro: DroOptions;
}

/** Name of a policy loss. */
export type PolicyLossName = keyof PolicyLossOptions;

/** Every policy loss of one old policy. To add one: a file beside this one, a line in each of the two lists. */
export const policyLosses: { readonly [Name in PolicyLossName]: PolicyLoss<PolicyLossOptions[Name]> } = {
  ppo,
  gspo,
  gmpo,
  cispo,
  sapo,
  dppo_tv: dppoTv,
  reinforce,
  dro,
};
