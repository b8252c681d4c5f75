import t from "tap";
import { compareScenes } from "../support/scenes.ts";

compareScenes(t, "auto");
compareScenes(t, "tab");
