/** Name of the grader whose text people write in the page. */
export const editedRewardName = "edited";

/** What stands in the configuration: the text itself, so that a checkpoint says what was rewarded. */
export interface EditedRewardOptions {
  source: string;
}
