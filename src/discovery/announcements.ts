/** This editor, made known to the CLIs of all profiles: their discovery files and variables, together. */
import { isAbsolute } from "node:path";
import type { Log } from "../base/log.ts";
import type { Profile } from "../profiles/profiles.ts";
import { type Announcement, discoveryVariables, foreignVariables, listsAny } from "./content.ts";
import { DiscoveryError } from "./directory.ts";
import { createDiscovery } from "./discovery.ts";
import { canBeJoined } from "./workspace.ts";

export interface Announcements {
  /** Of the discovery files. */
  readonly paths: string[];
  /**
   * Publishes these roots.
   * @throws {DiscoveryError} when the first profile's CLIs cannot find this editor; of others `failed` is told
   */
  publish(workspace: readonly string[]): void;
  /** Puts back what is gone. @throws {DiscoveryError} like `publish` */
  restore(): void;
  /** Makes the files' dates those of now. */
  refresh(): void;
  /** Deletes the files, synchronously. May run twice. */
  remove(): void;
  /** What leads CLIs that are started in this editor here, and what would lead them elsewhere. */
  variables(open: readonly string[]): { set: Record<string, string>; unset: string[] };
}

export interface AnnouncementsOptions {
  profiles: readonly Profile[];
  /** What the CLIs of this profile are told. */
  announcement: (profile: Profile) => Announcement;
  log: Log;
  /** These CLIs cannot find this editor. */
  failed: (profile: Profile, error: DiscoveryError) => void;
}

export function createAnnouncements(options: AnnouncementsOptions): Announcements {
  const { log, failed } = options;
  const taken = new Set<string>();
  const all = options.profiles.flatMap((profile) => {
    const announcement = options.announcement(profile);
    const discovery = createDiscovery({ profile, announcement, report: log.warn });
    // Two files cannot have one name: what looks in the same place is led here by the first.
    if (taken.has(discovery.path)) return [];
    taken.add(discovery.path);
    return [{ profile, announcement, discovery }];
  });
  const listed = (profile: Profile, workspace: readonly string[]) =>
    listsAny(profile) ? workspace : workspace.filter(canBeJoined);

  function each(run: (one: (typeof all)[number]) => void): void {
    for (const one of all) {
      try {
        run(one);
      } catch (error) {
        if (!(error instanceof DiscoveryError) || one === all[0]) throw error;
        failed(one.profile, error);
      }
    }
  }

  return {
    // Nothing is written where a variable of the user's leads to another place in each directory.
    paths: all.map(({ discovery }) => discovery.path).filter(isAbsolute),
    publish: (workspace) => each(({ profile, discovery }) => discovery.publish(listed(profile, workspace))),
    restore: () => each(({ discovery }) => discovery.restore()),
    refresh() {
      for (const { discovery } of all) discovery.refresh();
    },
    remove() {
      for (const { discovery } of all) discovery.remove();
    },
    variables(open) {
      const set = all.map(({ profile, announcement }) =>
        discoveryVariables(profile, announcement, listed(profile, open)),
      );
      return {
        // Of two that have the same names for them the first has them.
        set: Object.assign({}, ...set.reverse()),
        unset: all.flatMap(({ profile }) => foreignVariables(profile)),
      };
    },
  };
}
