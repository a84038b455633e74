/** The teacher's view over a room's tabs, as a part of the page. */

import { useEffect } from "hono/jsx/dom";
import { createRoot } from "hono/jsx/dom/client";
import type { JSX } from "hono/jsx/dom/jsx-runtime";
import { useLiveState } from "../../../../gateway/studio/client/live_state.ts";
import { LeydenError } from "../../../core/errors.ts";
import type { LessonLanguage } from "../../../schema/lesson.ts";
import { type RoomMember, type RoomView, roomViewSchema } from "../../../schema/room.ts";
import type { RunFault } from "../../../schema/run_control.ts";
import { faultIn, faultOf } from "../backend.ts";
import { askRoom, postRoom } from "./ask_room.ts";
import { FaultText } from "./fault_text.tsx";
import type { Ask } from "./lesson_gateway.ts";
import { findLesson, type SayLesson, sayOf } from "./say.ts";

/** What the view is shown with. */
export interface RoomOptions {
  /** Asks the gateway that holds the room, with the teacher's key. */
  ask: Ask;
  readonly language: LessonLanguage;
}

const refreshMs = 3_000;
/** Members silent for longer are shown as such. */
const quietSeconds = 60;

async function refusal(response: Response): Promise<LeydenError> {
  const { code, message } = await faultIn(response);
  return new LeydenError(code, message);
}

async function readRoom(ask: Ask): Promise<RoomView> {
  const response = await askRoom(ask, "view");
  if (response.ok) return roomViewSchema.parse(await response.json());
  throw await refusal(response);
}

/** Puts a member out; one who has left meanwhile is out already. */
async function removeMember(ask: Ask, id: string): Promise<RoomView> {
  const response = await postRoom(ask, "remove", { id });
  if (!response.ok && response.status !== 404) throw await refusal(response);
  return await readRoom(ask);
}

/** Rewards as a line as wide as a few words; the numbers stand beside it. */
function Spark({ rewards, title }: { rewards: readonly number[]; title: string }): JSX.Element | null {
  if (rewards.length < 2) return null;
  const [low, high] = [Math.min(...rewards), Math.max(...rewards)];
  const y = (value: number): number => (high === low ? 12 : 22 - (20 * (value - low)) / (high - low));
  const x = (i: number): number => 2 + (i / (rewards.length - 1)) * 116;
  return (
    <svg class="ls-spark" viewBox="0 0 120 24" role="img" aria-label={title}>
      <polyline class="ls-line" points={rewards.map((r, i) => `${x(i).toFixed(1)},${y(r).toFixed(1)}`).join(" ")} />
    </svg>
  );
}

interface MemberProps {
  readonly member: RoomMember;
  readonly say: SayLesson;
  readonly language: LessonLanguage;
  readonly onRemove: () => void;
}

function MemberRow({ member, say, language, onRemove }: MemberProps): JSX.Element {
  const { name, silentSeconds, report, rewards } = member;
  const title = report === null ? "–" : (findLesson(report.lesson)?.texts[language].title ?? report.lesson);
  return (
    <tr>
      <th scope="row">{name}</th>
      <td>{title}</td>
      <td>{report === null || report.updates === 0 ? "–" : `${report.update} / ${report.updates}`}</td>
      <td>{report?.reward == null ? "–" : report.reward.toFixed(2)}</td>
      <td>
        <Spark rewards={rewards} title={`${say("roomReward")}: ${name}`} />
      </td>
      <td>{report === null ? "–" : `${report.done} / ${report.exercises}`}</td>
      <td>
        {silentSeconds > quietSeconds ? `${Math.round(silentSeconds / 60)} ${say("roomMinutes")}` : say("roomHere")}
      </td>
      <td>
        <button type="button" class="ls-button" aria-label={`${say("roomRemove")}: ${name}`} onClick={onRemove}>
          {say("roomRemove")}
        </button>
      </td>
    </tr>
  );
}

const columns = ["roomMember", "roomLesson", "roomUpdate", "roomReward", "roomCurve", "roomExercises", "roomSeen"];

interface MembersProps {
  readonly members: readonly RoomMember[];
  readonly say: SayLesson;
  readonly language: LessonLanguage;
  onRemove(id: string): void;
}

function MemberTable({ members, say, language, onRemove }: MembersProps): JSX.Element {
  return (
    <div class="ls-scroll">
      <table class="ls-table">
        <caption>{`${say("roomMembers")}: ${members.length}`}</caption>
        <thead>
          <tr>
            {columns.map((key) => (
              <th key={key} scope="col">
                {say(key)}
              </th>
            ))}
            <td />
          </tr>
        </thead>
        <tbody>
          {members.map((member) => (
            <MemberRow
              key={member.id}
              member={member}
              say={say}
              language={language}
              onRemove={() => onRemove(member.id)}
            />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function RoomTable({ ask, language }: RoomOptions): JSX.Element {
  const say = sayOf(null, language);
  const [room, setRoom] = useLiveState<RoomView | null>(null);
  const [fault, setFault] = useLiveState<RunFault | null>(null);
  const show = (looked: Promise<RoomView>): void => {
    looked.then(
      (view) => {
        setRoom(view);
        setFault(null);
      },
      (thrown: unknown) => setFault(faultOf(thrown)),
    );
  };
  useEffect(() => {
    show(readRoom(ask));
    const timer = setInterval(() => show(readRoom(ask)), refreshMs);
    return () => clearInterval(timer);
  }, [ask]);
  return (
    <div class="ls-lesson ls-wide">
      <h1>{say("roomTitle")}</h1>
      <p class="ls-lead">{say("roomLead")}</p>
      {fault !== null && <FaultText fault={fault} lead={say("roomNoView")} say={say} />}
      {room !== null && (
        <>
          <p class="ls-code-line">
            {say("roomCode")}: <strong>{room.code}</strong>
          </p>
          {room.full && <p role="status">{say("roomFull")}</p>}
          <MemberTable
            members={room.members}
            say={say}
            language={language}
            onRemove={(id) => show(removeMember(ask, id))}
          />
        </>
      )}
    </div>
  );
}

/** Shows the room in an element. */
export function mountRoom(root: HTMLElement, options: RoomOptions): { close(): void } {
  const tree = createRoot(root);
  tree.render(<RoomTable {...options} />);
  return { close: () => tree.unmount() };
}
